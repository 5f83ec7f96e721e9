/* Pale and without names: below maps of numbers. */
@water: #e3e7ea;
@coast: #cdd4d9;
@river: #c3d0d8;
@land: #f7f7f6;
@border: #d2cfca;
@name: #8a8a8a;
@halo: rgba(247, 247, 246, 0.8);
Map {
  background-color: @water;
}
