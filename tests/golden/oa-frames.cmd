g oa --replay ../oa/frames.rec 0.05 -f dt,GpuBusy,EuActive,EuStall,EuThreadOccupancy,SamplerTexels
g oa --replay ../oa/frames.rec -o csv -f index,ts,ticks,GpuBusy,EuActive,EuStall | head -20
