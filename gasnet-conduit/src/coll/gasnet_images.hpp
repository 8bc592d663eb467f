// SPDX-License-Identifier: BSD-3-Clause
//
// Images: threads of a node that each take part in collectives of GASNet-1's draft.
#pragma once

#include "gasnet_coll.hpp"

namespace gasnet {

// What all images pass alike to a collective.
struct image_call {
	enum kind_t { broadcast, scatter, gather, gather_all, exchange, reduce } kind;
	gasnet_image_t root; // 0 if there is none
	size_t bytes;        // of a block, or of an element
	size_t elements;     // of a reduction
	pgas::teams::bounds within;
	pgas::teams::folding fold; // of a reduction
};

// Some node has several images, and so every image of every node calls a collective of GASNET_TEAM_ALL.
bool images_several() noexcept;
// This thread's number among the images of its node, and in the job; ends the job if it is not an image.
gasnet_image_t image_here(const char *call) noexcept;
gasnet_image_t image_number(const char *call) noexcept;
gasnet_image_t images_here() noexcept; // number of images of this node

// Starts this image's part in the next collective of images.
gex_Event_t image_start(const char *call, const image_call &c, void *dst, const void *src) noexcept;
// Advances the meetings in progress; true if anything moved.
bool images_progress() noexcept;
bool images_under_way() noexcept;

// A function of gasnet_coll_init, in the form that teams/ uses.
pgas::teams::folding image_fold(const char *call, size_t size, gasnet_coll_fn_handle_t function, int argument) noexcept;

} // namespace gasnet
