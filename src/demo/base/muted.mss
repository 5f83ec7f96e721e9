/* Pale and without names: below maps of numbers. */
@water: #d3e0ea;
@coast: #becdd8;
@river: #bccedb;
@land: #f7f7f6;
@border: #d2cfca;
@name: #8a8a8a;
@halo: rgba(247, 247, 246, 0.8);
Map {
  background-color: @water;
}
