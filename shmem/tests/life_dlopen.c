/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that opens the library at run time, as language bindings do, closes it, and returns from main. */
#include <dlfcn.h>
#include <stdio.h>

static long word = 1;

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	void (*init)(void), (*barrier)(void), (*put)(long *, long, int);
	int (*my_pe)(void), (*n_pes)(void);
	*(void **)&init = dlsym(library, "shmem_init");
	*(void **)&barrier = dlsym(library, "shmem_barrier_all");
	*(void **)&put = dlsym(library, "shmem_long_p");
	*(void **)&my_pe = dlsym(library, "shmem_my_pe");
	*(void **)&n_pes = dlsym(library, "shmem_n_pes");
	if (!init || !barrier || !put || !my_pe || !n_pes)
		return 3;
	init();
	barrier();
	put(&word, 100 + my_pe(), (my_pe() + 1) % n_pes());
	barrier();
	const int right = word == 100 + (my_pe() + n_pes() - 1) % n_pes();
	dlclose(library);
	return right ? 0 : 4;
}
