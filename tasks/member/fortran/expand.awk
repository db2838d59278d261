# Fortran has no templates: writes what lies between "!@each FROM" and "!@end" once for each element type and each rank
# from FROM to 4, and a line "…=> @list NAME FROM" as the list of all of them.
BEGIN {
	types = split("real32 real64 int32 int64 int8", type)
	split("real(real32) real(real64) integer(int32) integer(int64) integer(int8)", declaration)
	split("1 2 3 4 5", code) # enum stretto_dtype
	split("(:) (:,:) (:,:,:) (:,:,:,:)", dims)
	split("(1) (1,1) (1,1,1) (1,1,1,1)", first)
	print "! Generated from " source ": edit that."
}
function fill(text, t, r) {
	gsub(/@T@/, type[t], text)
	gsub(/@TYPE@/, declaration[t], text)
	gsub(/@CODE@/, code[t], text)
	gsub(/@R@/, r, text)
	gsub(/@DIMS@/, dims[r], text)
	gsub(/@FIRST@/, first[r], text)
	gsub(/@CONTIGUOUS@/, r > 0 ? "is_contiguous(array)" : ".true.", text)
	gsub(/@EXTENTS@/, r > 0 ? ", [field%extents(1:" r - 1 "), last]" : "", text)
	gsub(/@LAST@/, r > 0 ? "size(array, " r ")" : "1", text)
	gsub(/@EMPTY@/, r > 0 ? "size(array) == 0" : ".false.", text)
	return text
}
/@list/ {
	from = $NF
	name = $(NF - 1)
	printf "%s&", substr($0, 1, index($0, "@list") - 1)
	for (t = 1; t <= types; t++)
		for (r = from; r <= 4; r++)
			printf "%s\n      %s_%s_%d", (t > 1 || r > from) ? ", &" : "", name, type[t], r
	print ""
	next
}
/^ *!@each/ { each = 1; from = $2; body = ""; next }
/^ *!@end/ {
	for (t = 1; t <= types; t++)
		for (r = from; r <= 4; r++)
			printf "%s", fill(body, t, r)
	each = 0
	next
}
each { body = body $0 "\n"; next }
{ print }
