/* Shallow water: bands that grow with the zoom, under the land. */
#land::shelf {
  [zoom>=3] {
    line-color: #dbe9f0;
    line-width: 4;
    line-join: round;
    [zoom>=4] { line-width: 9; }
    [zoom>=7] { line-width: 14; }
  }
}
#land::coast {
  line-color: #7fa6b8;
  line-width: 0.4;
  line-join: round;
  [zoom>=3] { line-width: 0.7; }
  [zoom>=5] { line-width: 1.6; }
  [zoom>=8] { line-width: 2.2; }
}
#land {
  polygon-fill: #fdfbf5;
}
