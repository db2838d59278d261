#include "daemon/store/place.h"

#include <stddef.h>
#include <stdint.h>

/* The values of f_type are from linux/magic.h, and others from the sources of the file systems. */
static const struct {
    uint32_t f_type;
    const char *name;
} networks[] = {
    {0x00006969, "NFS"},      {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"},   {0x19830326, "BeeGFS"},
    {0x00c36400, "Ceph"},     {0xff534d42, "CIFS"},   {0xfe534d42, "SMB2"},   {0x0000517b, "SMB"},
    {0x01021997, "9p"},       {0x65735546, "FUSE"},   {0x5346414f, "AFS"},    {0x6b414653, "AFS"},
    {0x20030528, "OrangeFS"}, {0xaad7aaea, "PanFS"},  {0x73757245, "Coda"},   {0x7461636f, "OCFS2"},
    {0x01161970, "GFS2"},     {0xbacbacbc, "vmhgfs"}, {0x786f4256, "vboxsf"}, {0x0000564c, "NCP"},
};

const char *store_place_network(unsigned long f_type)
{
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        if (networks[i].f_type == (uint32_t)f_type) /* the kernel's long may have been sign-extended */
            return networks[i].name;
    return NULL;
}

int store_place_judge(const char *state_dir, unsigned long f_type, bool allow_network, enum store_journal *journal,
                      struct error *err)
{
    const char *network = store_place_network(f_type);

    *journal = network != NULL ? STORE_JOURNAL_ROLLBACK : STORE_JOURNAL_WAL;
    if (network == NULL || allow_network)
        return 0;
    return error_set(
        err, "store_network",
        "the state directory %.200s is on a network file system (%s), where locks and shared memory cannot be relied "
        "on, and a database may be damaged: give a --state-dir on a local disk, or, if there is none, set "
        "\"allow_network_state\": true in the configuration and never start a second strettod on it",
        state_dir, network);
}
