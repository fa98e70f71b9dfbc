// The test kernels as one image for cuModuleLoadData: for real cards of compute capability 7.5
// and later. The fake card knows them by name.
#pragma once

extern "C" const unsigned char reveza_test_kernels_image[];
