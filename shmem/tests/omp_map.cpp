// SPDX-License-Identifier: BSD-3-Clause
//
// The effects of map clauses as the program sees them: values on the host and on the device, and what is present. It
// prints its results and run_omp.sh compares them: with "plain" all variables are where OpenMP puts them, with "all"
// and with "vars" they are in the partition whose number follows, and nothing else may differ. In a partition it also
// checks that they are there, and that all of it is free again at the end. "threads" is one case alone, many times.
#include <omp.h>
#include <shmem.h>
#include <shmemx.h>
#include <shmem_omp.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kCount = 1000;

bool g_placed;
int g_id;
const char *g_case = "";

void see(const char *what, long value)
{
	printf("%s: %s %ld\n", g_case, what, value);
}

[[noreturn]] void stop(const char *what)
{
	fprintf(stderr, "%s: %s\n", g_case, what);
	exit(1);
}

void must_be_placed(const void *device, const char *what)
{
	if (g_placed && shmemx_partition_of(device) != g_id)
		stop(what);
	if (!g_placed && shmemx_partition_of(device) >= 0)
		stop("is in a partition, and should not");
}

int device()
{
	return omp_get_default_device();
}

bool is_there(const void *ptr)
{
	return omp_target_is_present(ptr, device());
}

long sum(const int *x, int n)
{
	long s = 0;
	for (int i = 0; i < n; i++)
		s += static_cast<long>(i + 1) * x[i];
	return s;
}

void fill(int *x, int n, int first)
{
	for (int i = 0; i < n; i++)
		x[i] = first + i;
}

// Sums the current values on the device; data that is mapped already is not updated.
long device_sum(int *x, int n)
{
	long s = 0;
#pragma omp target map(alloc : x [0:n]) map(tofrom : s)
	for (int i = 0; i < n; i++)
		s += static_cast<long>(i + 1) * x[i];
	return s;
}

void device_add(int *x, int n, int value)
{
#pragma omp target map(alloc : x [0:n])
	for (int i = 0; i < n; i++)
		x[i] += value;
}

void *device_address(int *x)
{
	void *addr = nullptr;
#pragma omp target data use_device_ptr(x)
	addr = x;
	return addr;
}

// --- target data -----------------------------------------------------------------------------------------------------

void types(int *x, int *y)
{
	g_case = "types";
	fill(x, kCount, 5);
	fill(y, kCount, 70000);
#pragma omp target data map(to : x [0:kCount]) map(from : y [0:kCount])
	{
		must_be_placed(device_address(x), "x is not in the partition");
		must_be_placed(device_address(y), "y is not in the partition");
		see("to, on the device", device_sum(x, kCount));
#pragma omp target map(alloc : x [0:kCount], y [0:kCount])
		for (int i = 0; i < kCount; i++) {
			y[i] = 3 * x[i];
			x[i] = -1;
		}
		see("from, before the end", sum(y, kCount));
	}
	see("to, at the end", sum(x, kCount));
	see("from, at the end", sum(y, kCount));
	see("there", is_there(x) + is_there(y));
#pragma omp target data map(tofrom : x [0:kCount]) map(alloc : y [0:kCount])
	{
		device_add(x, kCount, 11);
		see("tofrom, before", sum(x, kCount));
	}
	see("tofrom, at the end", sum(x, kCount));
	see("alloc, at the end", sum(y, kCount));
}

void nested(int *x)
{
	g_case = "nested";
	fill(x, kCount, 1);
#pragma omp target data map(to : x [0:kCount])
	{
		fill(x, kCount, 900);
#pragma omp target data map(tofrom : x [0:kCount])
		{
			see("not brought again", device_sum(x, kCount));
			device_add(x, kCount, 1);
		}
		see("not fetched yet", sum(x, kCount));
#pragma omp target data map(always, to : x [0:kCount])
		see("always brought", device_sum(x, kCount));
		device_add(x, kCount, 1);
#pragma omp target data map(always, from : x [0:kCount])
		device_add(x, kCount, 1);
		see("always fetched", sum(x, kCount));
#pragma omp target data map(always, tofrom : x [100:10])
		device_add(x, kCount, 1);
		see("a part always", sum(x, kCount));
		device_add(x, kCount, 1);
#pragma omp target update from(x [200:50])
		see("update from", sum(x, kCount));
		x[300] = 12345;
		x[301] = 54321;
#pragma omp target update to(x [300:1])
		see("update to", device_sum(x, kCount));
	}
	see("to, at the end", sum(x, kCount));
}

void enter_and_exit(int *x)
{
	g_case = "enter and exit";
	fill(x, kCount, 1);
#pragma omp target enter data map(to : x [0:kCount])
#pragma omp target enter data map(alloc : x [0:kCount])
#pragma omp target enter data map(to : x [10:20])
	must_be_placed(device_address(x), "x is not in the partition");
	device_add(x, kCount, 7);
#pragma omp target exit data map(from : x [0:kCount])
	see("there are two more", sum(x, kCount));
#pragma omp target exit data map(release : x [15:2])
	see("there", is_there(x));
#pragma omp target exit data map(from : x [0:kCount])
	see("the last one fetches", sum(x, kCount));
	see("there", is_there(x));
#pragma omp target exit data map(from : x [0:kCount])
#pragma omp target exit data map(delete : x [0:kCount])
	see("absent", sum(x, kCount));
	for (int i = 0; i < 5; i++) {
#pragma omp target enter data map(to : x [0:kCount])
	}
	device_add(x, kCount, 7);
#pragma omp target exit data map(delete : x [0:kCount])
	see("deleted", is_there(x));
	see("delete fetches nothing", sum(x, kCount));
#pragma omp target enter data map(to : x [0:kCount])
	device_add(x, kCount, 9);
#pragma omp target exit data map(always, from : x [5:10])
	see("a part is the last", sum(x, kCount));
	see("there", is_there(x));
}

void parts(int *x)
{
	g_case = "parts";
	fill(x, kCount, 1);
#pragma omp target data map(tofrom : x [100:200])
	{
		see("there", is_there(x + 100) + is_there(x + 299) + is_there(x + 99) + is_there(x + 300));
#pragma omp target data map(tofrom : x [150:10]) map(to : x [170:1])
		{
			char *whole = static_cast<char *>(device_address(x + 100));
			char *part = static_cast<char *>(device_address(x + 150));
			see("distance", part - whole);
			must_be_placed(part, "the part is not in the partition");
#pragma omp target map(alloc : x [150:10])
			for (int i = 150; i < 160; i++)
				x[i] = -i;
		}
		see("parts are not fetched", sum(x, kCount));
#pragma omp target map(tofrom : x [120:5])
		x[122] = 1000000;
#pragma omp target data map(present, tofrom : x [100:200])
		device_add(x + 100, 200, 1);
		int *none = x + 250;
#pragma omp target map(tofrom : none [0:0])
		none[1] = 77;
	}
	see("at the end", sum(x, kCount));
	// neighbours
#pragma omp target enter data map(to : x [0:10])
#pragma omp target enter data map(to : x [10:10])
#pragma omp target enter data map(to : x [20:10])
	device_add(x + 10, 10, 5);
#pragma omp target exit data map(from : x [10:10])
	see("neighbours", is_there(x) + 2 * is_there(x + 10) + 4 * is_there(x + 20));
#pragma omp target exit data map(release : x [0:10], x [20:10])
	see("sum", sum(x, kCount));
}

// --- regions with their own maps -------------------------------------------------------------------------------------

void regions(int *x)
{
	g_case = "regions";
	fill(x, kCount, 1);
	int input = 4, out = -1, both = 10;
	double squares = 0;
#pragma omp target map(tofrom : x [0:kCount]) map(to : input) map(from : out) map(tofrom : both)
	{
		for (int i = 0; i < kCount; i++)
			x[i] += input;
		out = both + 1;
		both = x[0];
		input = 99;
	}
	see("x", sum(x, kCount));
	see("in", input);
	see("out", out);
	see("both", both);
	see("there", is_there(x) + is_there(&input) + is_there(&both));
	// only copied back, not copied in
	int y[50];
	fill(y, 50, 3);
#pragma omp target map(from : y)
	for (int &one : y)
		one = 8;
	see("from", sum(y, 50));
#pragma omp target map(to : y)
	for (int &one : y)
		one = 9;
	see("to", sum(y, 50));
#pragma omp target teams distribute parallel for reduction(+ : squares) map(to : x [0:kCount])
	for (int i = 0; i < kCount; i++)
		squares += static_cast<double>(x[i]) * x[i];
	see("reduction", static_cast<long>(squares));
	// scalars without a map clause, an array that the compiler maps
	int first = 2;
#pragma omp target
	for (int &one : y)
		one += first;
	see("implicit", sum(y, 50));
	int shared = 1;
#pragma omp target data map(tofrom : shared)
	{
#pragma omp target map(tofrom : shared)
		shared++;
		see("in a scope", shared);
#pragma omp target map(always, tofrom : shared)
		shared++;
		see("in a scope, always", shared);
#pragma omp target defaultmap(tofrom : scalar)
		shared++;
	}
	see("after it", shared);
}

#define TEN(m_arg) m_arg(0) m_arg(1) m_arg(2) m_arg(3) m_arg(4) m_arg(5) m_arg(6) m_arg(7) m_arg(8) m_arg(9)
#define DECLARE(n_arg)                                                                                                 \
	int a##n_arg = n_arg, b##n_arg = 10 + n_arg, c##n_arg = 20 + n_arg, d##n_arg = 30 + n_arg,                     \
	    e##n_arg = 40 + n_arg, f##n_arg = 50 + n_arg, g##n_arg = 60 + n_arg, h##n_arg[5] = {70 + n_arg};
#define CHANGE(n_arg)                                                                                                  \
	a##n_arg += b##n_arg;                                                                                          \
	c##n_arg += d##n_arg;                                                                                          \
	e##n_arg *= f##n_arg;                                                                                          \
	g##n_arg++;                                                                                                    \
	h##n_arg[4] = e##n_arg;
#define ADD_UP(n_arg)                                                                                                  \
	total = total * 3 + a##n_arg + b##n_arg + c##n_arg + d##n_arg + e##n_arg + f##n_arg + g##n_arg + h##n_arg[4];
#define LIST(letter_arg)                                                                                               \
	letter_arg##0, letter_arg##1, letter_arg##2, letter_arg##3, letter_arg##4, letter_arg##5, letter_arg##6,       \
		letter_arg##7, letter_arg##8, letter_arg##9

void many()
{
	g_case = "many";
	TEN(DECLARE)
	unsigned total = 0;
#pragma omp target data map(tofrom : LIST(a), LIST(b), LIST(c), LIST(d), LIST(e), LIST(f), LIST(g), LIST(h))
	{
#pragma omp target map(tofrom : LIST(a), LIST(b), LIST(c), LIST(d), LIST(e), LIST(f), LIST(g), LIST(h))
		{TEN(CHANGE)} TEN(ADD_UP) see("before the end", total);
	}
	TEN(ADD_UP)
	see("eighty variables", total);
#pragma omp target map(tofrom : LIST(a), LIST(b), LIST(c), LIST(d), LIST(e), LIST(f), LIST(g), LIST(h))
	{TEN(CHANGE)} TEN(ADD_UP) see("of a region", total);
}

// --- structures ------------------------------------------------------------------------------------------------------

struct point {
	char tag;
	int a;
	double b;
	int *list;
	int n;
	short last;
};

long value_of(const point &p)
{
	return p.tag + 10L * p.a + 100L * static_cast<long>(p.b) + 1000L * p.n + 10000L * p.last;
}

void structures()
{
	g_case = "structures";
	point p = {1, 2, 3, nullptr, 4, 5};
#pragma omp target data map(tofrom : p)
	{
#pragma omp target map(tofrom : p.a, p.n)
		{
			p.a += 100;
			p.n += 100;
		}
		see("members of one that is there", value_of(p));
	}
	see("whole", value_of(p));
#pragma omp target data map(tofrom : p.a, p.b) map(to : p.last)
	{
#pragma omp target map(alloc : p.a, p.b, p.last)
		{
			p.a++;
			p.b += p.last;
			p.last = 77;
		}
		see("some members, before", value_of(p));
	}
	see("some members", value_of(p));
#pragma omp target map(tofrom : p.n, p.last)
	{
		p.n *= 2;
		p.last++;
	}
	see("of a region", value_of(p));
#pragma omp target enter data map(to : p.n, p.last)
#pragma omp target map(alloc : p.n, p.last)
	{
		p.n++;
		p.last++;
	}
#pragma omp target exit data map(from : p.n, p.last)
	see("enter and exit", value_of(p));
	see("there", is_there(&p.n) + is_there(&p.last) + is_there(&p.a));
}

// Repeatedly, with different host memory each time, because blocks are reused.
void pointers()
{
	g_case = "pointers";
	point p = {1, 2, 3, nullptr, 4, 5};
	for (int turn = 0; turn < 4; turn++) {
		int *mine = static_cast<int *>(malloc((50 + static_cast<size_t>(turn)) * sizeof(int)));
		int *keep = static_cast<int *>(malloc(100 * sizeof(int))); // the next one is elsewhere
		fill(mine, 50, turn * 10);
		p.list = mine;
		p.n = 50;
#pragma omp target data map(tofrom : p) map(tofrom : p.list [0:50])
		{
#pragma omp target map(alloc : p)
			{
				for (int i = 0; i < p.n; i++)
					p.list[i] += 3;
				p.n = 33;
			}
			if (p.list != mine)
				stop("the host's pointer has changed");
		}
		if (p.list != mine)
			stop("the host's pointer has changed at the end");
		see("list", sum(mine, 50));
		see("n", p.n);
		p.n = 50;
#pragma omp target map(tofrom : p.n, p.list [0:50])
		{
			for (int i = 0; i < p.n; i++)
				p.list[i] += 4;
			p.n = 3;
		}
		if (p.list != mine)
			stop("the host's pointer has changed after a region");
		see("list of a region", sum(mine, 50));
		see("n", p.n);
		free(mine);
		p.list = nullptr;
		if (turn == 3)
			free(keep);
	}
}

struct vec {
	int n;
	int *data;
};
#pragma omp declare mapper(deep : vec v) map(v, v.data [0:v.n])

void mappers()
{
	g_case = "mappers";
	vec v;
	for (int turn = 0; turn < 3; turn++) {
		v.n = 20;
		v.data = static_cast<int *>(malloc(static_cast<size_t>(20 + 100 * turn) * sizeof(int)));
		fill(v.data, 20, turn);
		int extra = turn;
#pragma omp target data map(mapper(deep), tofrom : v) map(tofrom : extra)
		{
#pragma omp target map(alloc : v) map(tofrom : extra)
			{
				for (int i = 0; i < v.n; i++)
					v.data[i] *= 2;
				extra += 7;
			}
			see("before the end", sum(v.data, 20));
		}
		see("at the end", sum(v.data, 20));
		see("extra", extra);
		// the runtime itself leaves the structure there
#pragma omp target exit data map(delete : v)
#pragma omp target map(mapper(deep), tofrom : v)
		for (int i = 0; i < v.n; i++)
			v.data[i]++;
		see("of a region", sum(v.data, 20));
		see("the list is there", is_there(v.data));
#pragma omp target exit data map(delete : v)
		free(v.data);
	}
}

// --- asynchronous ----------------------------------------------------------------------------------------------------

void tasks(int *x, int *y)
{
	g_case = "tasks";
	fill(x, kCount, 1);
	fill(y, kCount, 2);
#pragma omp target enter data map(to : x [0:kCount]) nowait depend(out : x[0])
#pragma omp target enter data map(to : y [0:kCount]) nowait depend(out : y[0])
#pragma omp target map(alloc : x [0:kCount], y [0:kCount]) nowait depend(inout : x[0]) depend(in : y[0])
	for (int i = 0; i < kCount; i++)
		x[i] += y[i];
#pragma omp target exit data map(from : x [0:kCount]) nowait depend(inout : x[0])
#pragma omp taskwait
	see("x", sum(x, kCount));
	see("there", is_there(x) + 2 * is_there(y));
#pragma omp target exit data map(release : y [0:kCount]) nowait depend(inout : y[0])
#pragma omp taskwait
#pragma omp target teams num_teams(1) map(tofrom : x [0:kCount]) nowait
	for (int i = 0; i < kCount; i++)
		x[i] *= 2;
#pragma omp taskwait
	see("a region", sum(x, kCount));
	see("there", is_there(x) + 2 * is_there(y));
}

// Threads that map the same array and their own arrays.
void threads(int *x, int turns)
{
	g_case = "threads";
	fill(x, kCount, 0);
	long wrong = 0;
#pragma omp parallel num_threads(4) reduction(+ : wrong)
	{
		const int me = omp_get_thread_num();
		int mine[64];
		for (int turn = 0; turn < turns; turn++) {
			fill(mine, 64, turn);
#pragma omp target data map(tofrom : mine)
			{
#pragma omp target map(tofrom : x [me * 100:100]) map(alloc : mine)
				for (int i = 0; i < 64; i++)
					mine[i] += 1;
			}
			for (int i = 0; i < 64; i++)
				wrong += mine[i] != turn + i + 1;
				// all map the same bytes, which do not change
#pragma omp target data map(to : x [900:50])
			{
				int got = -1;
#pragma omp target map(alloc : x [900:50]) map(from : got)
				got = x[910];
				wrong += got != 910;
			}
		}
	}
	see("wrong", wrong);
	see("sum", sum(x, kCount));
	see("there", is_there(x) + is_there(x + 910));
}

// --- memory without variables ----------------------------------------------------------------------------------------

void blocks()
{
	g_case = "blocks";
	int *block = static_cast<int *>(omp_alloc(kCount * sizeof(int), omp_shmem_mem_alloc));
	if (!block)
		stop("omp_alloc gave nothing");
	must_be_placed(block, "omp_alloc's block is not in the partition");
	long got = 0;
#pragma omp target is_device_ptr(block) map(from : got)
	{
		for (int i = 0; i < kCount; i++)
			block[i] = i;
		got = block[kCount - 1];
	}
	see("last", got);
	omp_free(block, omp_shmem_mem_alloc);
	void *other = omp_target_alloc(100, device());
	if (shmemx_partition_of(other) >= 0)
		stop("omp_target_alloc's block is in the partition");
	omp_target_free(other, device());
}

void all(int *x, int *y)
{
	types(x, y);
	nested(x);
	enter_and_exit(x);
	parts(x);
	regions(x);
	many();
	structures();
	pointers();
	mappers();
	tasks(x, y);
	threads(x, 300);
}

} // namespace

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "plain";
	g_id = argc > 2 ? atoi(argv[2]) : 0;
	setvbuf(stdout, nullptr, _IOLBF, 0);
	shmem_init();
	int *x = static_cast<int *>(malloc(kCount * sizeof(int))),
	    *y = static_cast<int *>(malloc(kCount * sizeof(int)));
	const size_t before = shmemx_partition_free_bytes(g_id);
	g_placed = strcmp(how, "plain") != 0;
	if (strcmp(how, "all") == 0)
		__tgt_set_shmem_allocator(shmem_partition_malloc, shmem_partition_free, g_id);
	else if (strcmp(how, "device") == 0)
		__tgt_set_device_allocator(device(), reinterpret_cast<void *>(shmem_partition_malloc),
					   reinterpret_cast<void *>(shmem_partition_free));
	if (strcmp(how, "threads") == 0) {
		// only this thread has a scope: to the others, x is in the partition at times
		shmemx::omp_scope here(g_id, {x, y});
		threads(x, 20000);
	} else if (strcmp(how, "vars") == 0) {
		{
			shmemx::omp_scope here(g_id, {x, y});
			all(x, y);
		}
		shmemx::omp_scope here(g_id);
		blocks();
	} else {
		all(x, y);
		blocks();
	}
	__tgt_reset_device_allocator(device());
	g_placed = false;
	types(x, y);
	if (shmemx_partition_free_bytes(g_id) != before) {
		fprintf(stderr, "%zu bytes of the partition are not free again\n",
			before - shmemx_partition_free_bytes(g_id));
		return 1;
	}
	free(x), free(y);
	shmem_finalize();
	return 0;
}
