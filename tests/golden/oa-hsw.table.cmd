g oa --replay ../oa/hsw.raw --platform hsw -o table
