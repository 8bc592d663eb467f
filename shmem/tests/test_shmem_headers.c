/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_shmem_headers.c: one header alone, named by HEADER; compiled once for each public header, in C and in C++.  Also
 * holds what every language must accept: constants in static initializers and preprocessor conditions.
 */
#include HEADER

#ifdef SHMEM_H
#if SHMEM_MAJOR_VERSION != 1 || SHMEM_MINOR_VERSION != 6 || _SHMEM_CMP_EQ != SHMEM_CMP_EQ
#error "constants are not usable by the preprocessor"
#endif
static long psync[SHMEM_SYNC_SIZE] = {SHMEM_SYNC_VALUE};
static shmem_ctx_t contexts[] = {SHMEM_CTX_DEFAULT, SHMEM_CTX_INVALID};
static shmem_team_t teams[] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED, SHMEM_TEAM_INVALID};
static char name[sizeof(SHMEM_VENDOR_STRING) <= SHMEM_MAX_NAME_LEN ? 1 : -1];

int main(void)
{
	const long flags = SHMEM_TEAM_NUM_CONTEXTS | SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE |
			   SHMEM_CTX_SESSION_BATCH | SHMEM_CTX_SESSION_TOTAL_OPS | SHMEM_MALLOC_ATOMICS_REMOTE |
			   SHMEM_MALLOC_SIGNAL_REMOTE;
	const int differ = contexts[0] != contexts[1] && teams[0] != teams[1] && teams[0] != teams[2] &&
			   teams[1] != teams[2];
	const shmem_team_config_t team = {2};
	const shmem_ctx_session_config_t session = {3};
	switch (SHMEM_SIGNAL_ADD) {
	case SHMEM_SIGNAL_SET:
		return 1;
	default:
		break;
	}
	return !(differ && flags != 0 && psync[0] == SHMEM_SYNC_VALUE && name[0] == 0 && team.num_contexts == 2 &&
		 session.total_ops == 3);
}
#else
int main(void)
{
	return 0;
}
#endif
