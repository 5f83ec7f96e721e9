/* The coast lies under the fill, so only its outer half is seen, and nothing where the world is cut at 180°. */
#land::coast {
  line-color: @coast;
  line-width: 0.5;
  line-join: round;
  [zoom>=4] { line-width: 1; }
  [zoom>=5] { line-width: 1.6; }
  [zoom>=9] { line-width: 2; }
}
#land {
  polygon-fill: @land;
}
