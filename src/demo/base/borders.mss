#borders {
  line-color: @border;
  line-width: 0.4;
  line-join: round;
  line-cap: round;
  [zoom>=3] { line-width: 0.7; }
  [zoom>=6] {
    line-width: 1;
    line-dasharray: 7, 3;
  }
  [zoom>=9] { line-width: 1.4; }
}
