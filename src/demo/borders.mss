#borders::band {
  [zoom>=4] {
    line-color: #b58fa3;
    line-opacity: 0.18;
    line-width: 4;
    line-join: round;
    line-cap: round;
    [zoom>=7] { line-width: 7; }
  }
}
#borders {
  line-color: #a58a98;
  line-width: 0.5;
  line-join: round;
  line-cap: round;
  [zoom>=4] { line-width: 0.9; }
  [zoom>=7] { line-width: 1.3; line-dasharray: 8, 3, 2, 3; }
}
