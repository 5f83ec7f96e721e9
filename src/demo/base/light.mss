@water: #cddfe7;
@coast: #a9c3d0;
@river: #93bfd9;
@land: #f5f3ee;
@border: #c9b9ae;
@name: #6b6862;
@halo: rgba(245, 243, 238, 0.8);
Map {
  background-color: @water;
}
