/* Pale and without names: below maps of numbers. */
@water: #d3e0ea;
@coast: #b3c6d3;
@river: #b0c6d6;
@land: #f7f7f6;
@border: #d2cfca;
@name: #8a8a8a;
@halo: rgba(247, 247, 246, 0.8);
Map {
  background-color: @water;
}
