#pragma once

#include <string>
#include <vector>

#include "config/zuul/provider.h"

namespace nodepool::config::zuul {

// In Zuul a label names one image and one flavor, whichever provider serves it, and each section
// says what these are. Where the label's providers differ, their images get the name of the one
// that Zuul builds, otherwise the label's. So do images and flavors where one section would need
// two meanings of a name.
void unify_names(std::vector<ZuulProvider>& providers);

// Gives providers of one name different ones.
void separate_names(std::vector<ZuulProvider>& providers);

// Gives connections of one name and different lines different names: those after the first one get
// the name of the first provider that uses them, with a number if it is taken.
void unify_connections(std::vector<ZuulProvider>& providers);

}  // namespace nodepool::config::zuul
