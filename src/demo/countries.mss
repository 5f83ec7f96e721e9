/* Tints are multiplied onto the land, so that borders and towns below stay as they are. */
#countries {
  polygon-comp-op: multiply;
  polygon-fill: #fbeedb;
  [tint=2] { polygon-fill: #e6f0dc; }
  [tint=3] { polygon-fill: #fbf5d2; }
  [tint=4] { polygon-fill: #ece5f2; }
  [tint=5] { polygon-fill: #f8e3df; }
  [tint=6] { polygon-fill: #dcefeb; }
  [zoom>=7] { polygon-opacity: 0.6; }
  [zoom>=9] { polygon-opacity: 0.4; }
  [iso='AQ'] { polygon-fill: #ffffff; }
}
#countries::name {
  [zoom=2][area>=1500000],
  [zoom=3][area>=600000],
  [zoom=4][area>=110000],
  [zoom=5][area>=20000],
  [zoom=6][area>=1500],
  [zoom=7] {
    text-name: [name];
    text-face-name: "DejaVu Sans Book";
    text-transform: uppercase;
    text-fill: #5c5366;
    text-halo-fill: rgba(255, 255, 255, 0.75);
    text-halo-radius: 1.4;
    text-size: 9;
    text-character-spacing: 1;
    text-wrap-width: 70;
    text-line-spacing: 2;
    text-placement: interior;
    /* Towns are placed before: the name moves away from them, and grows smaller in the end. */
    text-placement-type: simple;
    text-placements: "X,N,S,E,W,8";
    text-dy: 8;
    [zoom>=3][area>=2500000] { text-size: 11; text-character-spacing: 2; }
    [zoom>=4][area>=600000] { text-size: 11; text-character-spacing: 2; }
    [zoom>=5][area>=110000] { text-size: 12; text-character-spacing: 3; text-wrap-width: 110; }
  }
}
