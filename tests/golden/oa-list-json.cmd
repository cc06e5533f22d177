g oa list -j --sys panfrost/sys
g oa list Basic -j --platform hsw --sys panfrost/sys
