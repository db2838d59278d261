// Texts of others, shown so that nothing in them is hidden.

// Characters that are not seen, or that turn what follows round; line ends and tabs are none.
export const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

const RUNS = new RegExp(`(${UNSEEN.source})\\1*`, 'g');

// They are seen; of many in a row, such as those of a hole in a file, how many they are.
export function visible(text) {
  return String(text).replace(RUNS, (run, character) => {
    const code = character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
    return run.length > 1 ? `‹U+${code} × ${run.length}›` : `‹U+${code}›`;
  });
}
