/* From an area of some 30 pixels on; smaller ones are specks. */
#lakes {
  [zoom=2][km2>=20000],
  [zoom=3][km2>=8000],
  [zoom=4][km2>=2500],
  [zoom=5][km2>=700],
  [zoom=6][km2>=180],
  [zoom=7][km2>=45],
  [zoom=8][km2>=12],
  [zoom=9][km2>=3],
  [zoom>=10] {
    polygon-fill: @water;
    [zoom>=6] {
      line-color: @coast;
      line-width: 0.5;
      line-join: round;
      [zoom>=9] { line-width: 0.8; }
    }
  }
}
