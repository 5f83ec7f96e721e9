#rivers {
  [zoom=4][rank=1],
  [zoom=5][rank=1],
  [zoom=6][rank<=2],
  [zoom=7][rank<=3],
  [zoom>=8] {
    line-color: @river;
    line-width: 0.6;
    line-join: round;
    line-cap: round;
    [zoom>=6][rank=1] { line-width: 0.9; }
    [zoom>=8] { line-width: 0.7; }
    [zoom>=8][rank<=2] { line-width: 1.1; }
    [zoom>=8][rank=1] { line-width: 1.5; }
    [zoom>=10] { line-width: 1; }
    [zoom>=10][rank<=2] { line-width: 1.6; }
    [zoom>=10][rank=1] { line-width: 2.4; }
  }
}
