#include "builder/decisions.h"

#include <gtest/gtest.h>
