/* The coast lies under the fill, so only its outer half is seen, and nothing where the world is cut at 180°. */
#land::coast {
  line-color: #a9c3d0;
  line-width: 1;
  line-join: round;
  [zoom>=5] { line-width: 1.6; }
  [zoom>=9] { line-width: 2; }
}
#land {
  polygon-fill: #f5f3ee;
}
