@water: #16222b;
@coast: #2f4350;
@river: #345061;
@land: #262b31;
@border: #5a5552;
@name: #9aa3ad;
@halo: rgba(28, 32, 37, 0.85);
Map {
  background-color: @water;
}
