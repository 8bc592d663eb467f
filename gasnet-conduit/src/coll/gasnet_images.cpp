// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives whose members are threads: the images of a node meet, and the last one to arrive starts an operation
// between nodes on behalf of all; the result is then distributed to them. Blocks of a node's images travel together, in
// rows that are long enough for the node with the most images.
//
// Operations between nodes must begin in the same order everywhere. A collective that all must have entered before a
// source is read, or left before it completes, needs one more such operation before collecting or after distributing,
// and no other begins between the two. They use a team of their own, so that collectives of nodes do not interfere.
#include "gasnet_images.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <new>

#include <pgas/pgas_base.hpp>
#include <teams/teams_split.hpp>

namespace gasnet {
namespace {

namespace teams = pgas::teams;

struct numbers {
	std::vector<gasnet_image_t> first; // by node, with one entry after the last node
	gasnet_image_t most = 1;           // on any node
	bool even = true;                  // all nodes have the same number
	gasnet_image_t of(size_t node) const { return first[node + 1] - first[node]; }
	size_t node_of(gasnet_image_t image) const
	{
		return static_cast<size_t>(std::upper_bound(first.begin(), first.end(), image) - first.begin()) - 1;
	}
};

// One collective in progress.
struct meeting {
	enum { gathering, entering, moving, leaving, over } state = gathering;
	image_call call;
	gasnet_image_t arrived = 0, released = 0;
	std::vector<void *> dst; // by image of this node
	std::vector<const void *> src;
	std::vector<char> input, out; // rows of blocks
	teams::operation *operation = nullptr;
};

constexpr size_t kAtOnce = 4; // that a poll checks

// Everything is under the mutex unless a comment says otherwise.
pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
bool g_several;   // written before any image returns from gasnet_coll_init
numbers g_images; // written then, too
gasnet_image_t g_came;
teams::team *g_team;
bool g_open;          // atomic: the team exists
unsigned g_under_way; // atomic: meetings that have begun and are not over
std::vector<gasnet_coll_fn_entry_t> g_functions;
std::deque<std::unique_ptr<meeting>> g_meetings;
uint64_t g_first; // number of the first of them
uint64_t g_begun; // number of the first that has not begun

__thread gasnet_image_t t_image __attribute__((tls_model("initial-exec"))); // 1 is the first of this node
__thread uint64_t t_calls __attribute__((tls_model("initial-exec")));

gasnet_image_t here()
{
	return g_images.of(gasneti_front.mynode);
}

// --- moving ----------------------------------------------------------------------------------------------------------

// Rows of g_images.most blocks, one of each node, to or from blocks that follow one another.
template <class Copy>
void each_row(size_t bytes, Copy copy)
{
	const size_t row = g_images.most * bytes;
	for (size_t node = 0; node < gasneti_front.nodes; node++)
		copy(node * row, g_images.first[node] * bytes, g_images.of(node) * bytes);
}

const char *at(const void *base, size_t offset)
{
	return static_cast<const char *>(base) + offset;
}

void *room(std::vector<char> &v, size_t bytes)
{
	v.resize(bytes);
	return v.data();
}

const void *packed_sources(meeting &m)
{
	const size_t b = m.call.bytes;
	room(m.out, g_images.most * b);
	for (size_t i = 0; i < m.src.size(); i++)
		memcpy(m.out.data() + i * b, m.src[i], b);
	return m.out.data();
}

teams::operation *begin_scatter(meeting &m, int root, const void *source)
{
	const size_t b = m.call.bytes, row = g_images.most * b;
	if (source && !g_images.even) {
		room(m.out, gasneti_front.nodes * row);
		each_row(b, [&](size_t dst_off, size_t src_off, size_t n) {
			memcpy(&m.out[dst_off], at(source, src_off), n);
		});
		source = m.out.data();
	}
	return teams::start_scatter(*g_team, room(m.input, row), source, row, root);
}

teams::operation *begin_gather(meeting &m, int root, void *dest)
{
	const size_t row = g_images.most * m.call.bytes;
	if (dest && !g_images.even)
		dest = room(m.input, gasneti_front.nodes * row);
	return teams::start_gather(*g_team, dest, packed_sources(m), row, root);
}

teams::operation *begin_gather_all(meeting &m)
{
	const size_t row = g_images.most * m.call.bytes;
	void *dest = g_images.even ? m.dst[0] : room(m.input, gasneti_front.nodes * row);
	return teams::start_gather_all(*g_team, dest, packed_sources(m), row);
}

// Sends each node one row per local image, with one block per image of that node.
teams::operation *begin_exchange(meeting &m)
{
	const size_t b = m.call.bytes, row = g_images.most * b, block = g_images.most * row;
	room(m.out, gasneti_front.nodes * block);
	for (size_t node = 0; node < gasneti_front.nodes; node++)
		for (size_t i = 0; i < m.src.size(); i++)
			memcpy(&m.out[node * block + i * row], at(m.src[i], g_images.first[node] * b),
			       g_images.of(node) * b);
	return teams::start_exchange(*g_team, room(m.input, gasneti_front.nodes * block), m.out.data(), block);
}

teams::operation *begin_reduce(meeting &m, int root, void *dest)
{
	const image_call &c = m.call;
	const size_t bytes = c.elements * c.bytes;
	memcpy(room(m.out, bytes), m.src[0], bytes);
	for (size_t i = 1; i < m.src.size(); i++)
		c.fold.into(c.fold, m.out.data(), m.out.data(), const_cast<void *>(m.src[i]), c.elements);
	return teams::start_reduce(*g_team, c.fold, dest, m.out.data(), c.elements, root);
}

bool is_empty(const image_call &c)
{
	return !c.bytes || (c.kind == image_call::reduce && !c.elements);
}

// The operation between nodes.
teams::operation *operation_of(meeting &m)
{
	const image_call &c = m.call;
	if (is_empty(c))
		return nullptr;
	const size_t root_node = g_images.node_of(c.root);
	const int root = static_cast<int>(root_node);
	const bool mine = root_node == gasneti_front.mynode;
	const size_t i = mine ? c.root - g_images.first[root_node] : 0;
	switch (c.kind) {
	case image_call::broadcast:
		return teams::start_broadcast(*g_team, m.dst[0], mine ? m.src[i] : nullptr, c.bytes, root);
	case image_call::scatter:
		return begin_scatter(m, root, mine ? m.src[i] : nullptr);
	case image_call::gather:
		return begin_gather(m, root, mine ? m.dst[i] : nullptr);
	case image_call::gather_all:
		return begin_gather_all(m);
	case image_call::exchange:
		return begin_exchange(m);
	case image_call::reduce:
		return begin_reduce(m, root, mine ? m.dst[i] : nullptr);
	}
	return nullptr;
}

// --- handing out -----------------------------------------------------------------------------------------------------

void copy_to_others(meeting &m, size_t bytes)
{
	for (size_t i = 1; i < m.dst.size(); i++)
		if (m.dst[i] != m.dst[0])
			memcpy(m.dst[i], m.dst[0], bytes);
}

void unpack_rows(const meeting &m, void *dest)
{
	each_row(m.call.bytes, [&](size_t src_off, size_t dst_off, size_t n) {
		memcpy(static_cast<char *>(dest) + dst_off, &m.input[src_off], n);
	});
}

void hand_out_exchange(const meeting &m)
{
	const size_t b = m.call.bytes, row = g_images.most * b, block = g_images.most * row;
	for (size_t node = 0; node < gasneti_front.nodes; node++)
		for (size_t begin = 0; begin < g_images.of(node); begin++)
			for (size_t i = 0; i < m.dst.size(); i++)
				memcpy(static_cast<char *>(m.dst[i]) + (g_images.first[node] + begin) * b,
				       &m.input[node * block + begin * row + i * b], b);
}

void hand_out(meeting &m)
{
	const image_call &c = m.call;
	if (is_empty(c))
		return;
	switch (c.kind) {
	case image_call::broadcast:
		return copy_to_others(m, c.bytes);
	case image_call::scatter:
		for (size_t i = 0; i < m.dst.size(); i++)
			memcpy(m.dst[i], &m.input[i * c.bytes], c.bytes);
		return;
	case image_call::gather:
		if (!m.input.empty())
			unpack_rows(m, m.dst[c.root - g_images.first[gasneti_front.mynode]]);
		return;
	case image_call::gather_all:
		if (!m.input.empty())
			unpack_rows(m, m.dst[0]);
		return copy_to_others(m, g_images.first.back() * c.bytes);
	case image_call::exchange:
		return hand_out_exchange(m);
	case image_call::reduce:
		return;
	}
}

// --- steps -----------------------------------------------------------------------------------------------------------

bool is_over(teams::operation *operation)
{
	return !operation || teams::finished(operation);
}

void move_on(meeting &m)
{
	try {
		m.operation = operation_of(m);
	} catch (const std::bad_alloc &) {
		fail("collective of images: out of memory");
	}
	m.state = meeting::moving;
}

// Advances a meeting that has begun as far as possible.
bool settle(meeting &m)
{
	bool moved = false;
	if (m.state == meeting::entering && is_over(m.operation)) {
		move_on(m);
		moved = true;
	}
	if (m.state == meeting::moving && is_over(m.operation)) {
		hand_out(m);
		m.operation = m.call.within.all_out ? teams::start_barrier(*g_team) : nullptr;
		m.state = meeting::leaving;
		moved = true;
	}
	if (m.state == meeting::leaving && is_over(m.operation)) {
		m.state = meeting::over;
		pgas_store_relaxed(&g_under_way, g_under_way - 1);
		moved = true;
	}
	return moved;
}

// True if it will begin another operation.
bool wants_more(const meeting &m)
{
	return m.state == meeting::entering || (m.state == meeting::moving && m.call.within.all_out);
}

meeting &meeting_at(uint64_t number)
{
	return *g_meetings[number - g_first];
}

// Begins the meetings that are next in order and where all images have arrived.
void begin_more()
{
	for (; g_begun < g_first + g_meetings.size(); g_begun++) {
		meeting &m = meeting_at(g_begun);
		if (m.arrived < here())
			return;
		if (g_begun > g_first && wants_more(meeting_at(g_begun - 1)))
			return;
		m.operation = m.call.within.all_in ? teams::start_barrier(*g_team) : nullptr;
		m.state = meeting::entering;
		pgas_store_relaxed(&g_under_way, g_under_way + 1);
		settle(m);
	}
}

void forget_old()
{
	while (!g_meetings.empty() && g_meetings.front()->state == meeting::over &&
	       g_meetings.front()->released == here()) {
		g_meetings.pop_front();
		g_first++;
	}
}

// --- events ----------------------------------------------------------------------------------------------------------

struct image_event : gasneti_op {
	meeting *place;
};

bool finish(gasneti_op *op, const char *)
{
	auto *event = static_cast<image_event *>(op);
	if (PGAS_UNLIKELY(pgas_load_relaxed(&g_gasnet.serves))) // others may need this node's progress; runs no handler
		g_gasnet.net.ops->progress(g_gasnet.net.domain);
	bool over = false;
	{
		const pgas::mutex_holder lock(g_mutex);
		settle(*event->place);
		begin_more();
		over = event->place->state == meeting::over;
		if (over) {
			event->place->released++;
			forget_old();
		}
	}
	progress_update();
	if (!over)
		return false;
	event->magic = 0;
	delete event;
	return true;
}

bool same(const image_call &a, const image_call &b)
{
	return a.kind == b.kind && a.root == b.root && a.bytes == b.bytes && a.elements == b.elements &&
	       a.within.all_in == b.within.all_in && a.within.all_out == b.within.all_out &&
	       a.fold.function == b.fold.function && a.fold.data == b.fold.data;
}

meeting &next_meeting(const char *call, const image_call &c)
{
	const uint64_t number = t_calls++;
	if (number == g_first + g_meetings.size()) {
		g_meetings.push_back(std::make_unique<meeting>());
		meeting &made = *g_meetings.back();
		made.call = c;
		made.dst.resize(here());
		made.src.resize(here());
	}
	meeting &m = meeting_at(number);
	if (!same(m.call, c))
		fail("%s: another image of this node is in another collective, or gave another root, length or "
		     "synchronization",
		     call);
	return m;
}

} // namespace

gex_Event_t image_start(const char *call, const image_call &c, void *dst, const void *src) noexcept
{
	const gasnet_image_t me = image_here(call);
	if (c.root >= g_images.first.back())
		fail("%s: root %u of %u images", call, c.root, g_images.first.back());
	auto *event = new (std::nothrow) image_event;
	if (!event)
		fail("%s: out of memory", call);
	event->magic = kEvent;
	event->finish = finish;
	{
		const pgas::mutex_holder lock(g_mutex);
		meeting &m = next_meeting(call, c);
		m.dst[me] = dst;
		m.src[me] = src;
		m.arrived++;
		event->place = &m;
		begin_more();
	}
	progress_update();
	return event;
}

bool images_progress() noexcept
{
	if (PGAS_LIKELY(!images_under_way()) || pthread_mutex_trylock(&g_mutex) != 0) // another thread is doing it
		return false;
	bool moved = false;
	size_t looked = 0;
	for (size_t i = 0; i < g_begun - g_first && looked < kAtOnce; i++) {
		meeting &m = *g_meetings[i];
		looked += m.state != meeting::over;
		moved = settle(m) || moved;
	}
	begin_more();
	pthread_mutex_unlock(&g_mutex);
	progress_update();
	return moved;
}

bool images_under_way() noexcept
{
	return pgas_load_relaxed(&g_under_way) != 0;
}

// --- numbers of images -----------------------------------------------------------------------------------------------

bool images_several() noexcept
{
	return g_several;
}

gasnet_image_t image_here(const char *call) noexcept
{
	if (!t_image)
		fail("%s: this thread is no image: it has not called gasnet_coll_init", call);
	return t_image - 1;
}

gasnet_image_t image_number(const char *call) noexcept
{
	return g_images.first[gasneti_front.mynode] + image_here(call);
}

gasnet_image_t images_here() noexcept
{
	return here();
}

namespace {

numbers numbers_of(const gasnet_image_t *images)
{
	numbers n;
	n.first.push_back(0);
	for (size_t node = 0; node < gasneti_front.nodes; node++) {
		if (!images[node])
			fail("gasnet_coll_init: node %zu has no image", node);
		n.first.push_back(n.first.back() + images[node]);
		n.most = std::max(n.most, images[node]);
		n.even = n.even && images[node] == images[0];
	}
	return n;
}

// The last image to arrive makes the team, and the others wait for it.
void join(const numbers &n, gasnet_image_t my_image)
{
	const size_t me = gasneti_front.mynode;
	if (my_image < n.first[me] || my_image >= n.first[me + 1])
		fail("gasnet_coll_init: my_image is %u, and images %u to %u are this node's", my_image, n.first[me],
		     n.first[me + 1] - 1);
	bool last = false;
	{
		const pgas::mutex_holder lock(g_mutex);
		if (g_several && g_images.first != n.first)
			fail("gasnet_coll_init: another image of this node gave other numbers of images");
		if (t_image || g_came == n.of(me))
			fail("gasnet_coll_init: called again by image %u; each image calls it once", my_image);
		g_images = n;
		g_several = true;
		t_image = my_image - n.first[me] + 1;
		last = ++g_came == n.of(me);
	}
	if (last) {
		if (teams::split_color(*g_world->core, 0, static_cast<int>(me), &g_team) != 0)
			fail("gasnet_coll_init: no room for the team of images");
		pgas_store_release(&g_open, true); // pairs with load_acquire in join()
	}
	pgas_backoff wait{};
	while (!pgas_load_acquire(&g_open)) // pairs with store_release in join()
		gasneti_wait_turn(&wait);
}

void fold_by_function(const teams::folding &f, void *out, const void *left, void *right, size_t elements)
{
	const auto function = reinterpret_cast<gasnet_coll_reduce_fn_t>(f.function);
	const auto argument = static_cast<int>(reinterpret_cast<intptr_t>(f.data));
	function(out, elements, left, elements, right, f.size, f.ordered ? GASNET_COLL_NONCOMM : 0, argument);
}

} // namespace

teams::folding image_fold(const char *call, size_t size, gasnet_coll_fn_handle_t function, int argument) noexcept
{
	gasnet_coll_fn_entry_t entry{};
	{
		const pgas::mutex_holder lock(g_mutex, kThreads);
		if (function < 0 || static_cast<size_t>(function) >= g_functions.size())
			fail("%s: function %d of the %zu that gasnet_coll_init was given", call,
			     static_cast<int>(function), g_functions.size());
		entry = g_functions[static_cast<size_t>(function)];
	}
	return {fold_by_function, size, (entry.flags & GASNET_COLL_NONCOMM) != 0,
		reinterpret_cast<void (*)()>(entry.fnptr), reinterpret_cast<void *>(intptr_t{argument})};
}

} // namespace gasnet

using namespace gasnet;

extern "C" void gasnet_coll_init(const gasnet_image_t *images, gasnet_image_t my_image,
				 gasnet_coll_fn_entry_t *functions, size_t count, int) noexcept
{
	check_attached("gasnet_coll_init");
	{
		const pgas::mutex_holder lock(g_mutex, kThreads);
		if (count)
			g_functions.assign(functions, functions + count);
	}
	if (!images)
		return;
	const numbers n = numbers_of(images);
	if (n.most == 1)
		return;
	if (!kThreads)
		fail("gasnet_coll_init: a node with %u images needs threads, and so the library of PAR mode", n.most);
	join(n, my_image);
}
