// SPDX-License-Identifier: BSD-3-Clause
//
// sort: bucket sort of random numbers over all PEs, in C++. Every PE owns a range of values. A PE reserves room in the
// owner's bucket by an atomic fetch-and-add of how many numbers it will send, puts them there in one piece, and after a
// barrier each owner sorts its own. Checks that no number was lost and that all are in order, also from PE to PE.
//
//	oshrun -n 4 ./sort [NUMBERS_PER_PE]
#include <shmem.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

// These are static, hence symmetric.
long filled;                    // numbers in this PE's bucket
uint64_t sum_before, sum_after; // at PE 0: over all numbers, before and after
long count_after;               // at PE 0
uint64_t largest;               // of this PE's bucket, 0 if it is empty

struct shared_array { // all PEs must free it together, and they do
	uint64_t *data;
	explicit shared_array(size_t n) : data(static_cast<uint64_t *>(shmem_malloc(n * sizeof(uint64_t))))
	{
		if (!data)
			shmem_global_exit(1);
	}
	~shared_array() { shmem_free(data); }
};

int owner_of(uint64_t value, int n)
{
	return static_cast<int>((value >> 32) * static_cast<uint64_t>(n) >> 32);
}

std::vector<uint64_t> random_numbers(size_t count, int me)
{
	std::mt19937_64 generator(static_cast<uint64_t>(me) + 1);
	std::vector<uint64_t> numbers(count);
	std::generate(numbers.begin(), numbers.end(), generator);
	return numbers;
}

void send_to_owners(const std::vector<uint64_t> &numbers, uint64_t *bucket, size_t room)
{
	const int n = shmem_n_pes(), me = shmem_my_pe();
	std::vector<std::vector<uint64_t>> out(static_cast<size_t>(n));
	for (const uint64_t v : numbers)
		out[static_cast<size_t>(owner_of(v, n))].push_back(v);
	for (int k = 0; k < n; k++) { // every PE begins with a different owner
		const int pe = (me + k) % n;
		const auto &part = out[static_cast<size_t>(pe)];
		const auto pos =
			static_cast<size_t>(shmem_atomic_fetch_add(&filled, static_cast<long>(part.size()), pe));
		if (pos + part.size() > room) {
			fprintf(stderr, "PE %d: the bucket of PE %d is full\n", me, pe);
			shmem_global_exit(1);
		}
		shmem_put(bucket + pos, part.data(), part.size(), pe);
	}
}

bool in_order(const uint64_t *bucket, size_t count)
{
	const int me = shmem_my_pe(), n = shmem_n_pes();
	for (size_t i = 0; i < count; i++)
		if (owner_of(bucket[i], n) != me || (i && bucket[i - 1] > bucket[i]))
			return false;
	if (me == 0 || count == 0)
		return true;
	return shmem_g(&largest, me - 1) <= bucket[0];
}

} // namespace

int main(int argc, char **argv)
{
	const size_t count = argc > 1 ? strtoull(argv[1], nullptr, 10) : 50000;
	shmem_init();
	const int me = shmem_my_pe(), n = shmem_n_pes();
	bool good;
	{
		const size_t room = 2 * count + 1000; // random numbers fill the buckets evenly
		const shared_array bucket(room);
		const std::vector<uint64_t> numbers = random_numbers(count, me);
		uint64_t sum = 0;
		for (const uint64_t v : numbers)
			sum += v;
		shmem_atomic_add(&sum_before, sum, 0);

		send_to_owners(numbers, bucket.data, room);
		shmem_barrier_all(); // all numbers have reached their owners
		const auto mine = static_cast<size_t>(filled);
		std::sort(bucket.data, bucket.data + mine);

		largest = mine ? bucket.data[mine - 1] : 0;
		sum = 0;
		for (size_t i = 0; i < mine; i++)
			sum += bucket.data[i];
		shmem_atomic_add(&sum_after, sum, 0);
		shmem_atomic_add(&count_after, filled, 0);
		shmem_barrier_all();
		good = in_order(bucket.data, mine);
		if (me == 0) {
			good = good && sum_before == sum_after && count_after == static_cast<long>(count) * n;
			printf("%ld numbers on %d PEs: %s\n", count_after, n, good ? "sorted" : "NOT sorted");
		} else if (!good) {
			fprintf(stderr, "PE %d: not in order\n", me);
		}
	}
	shmem_finalize();
	return good ? 0 : 1;
}
