/*
 * `rank` is the zoom from which a town has room for its label; here one more, as maps with labels of their own lie above.
 * So there is room for all, and none makes way for another: an edit of a map need not draw what is around it.
 */
#places {
  [zoom=4][rank<=3],
  [zoom=5][rank<=4],
  [zoom=6][rank<=5],
  [zoom=7][rank<=6],
  [zoom=8][rank<=7],
  [zoom>=9] {
    text-name: [name];
    text-face-name: "DejaVu Sans Book";
    text-size: 9.5;
    text-fill: @name;
    text-halo-fill: @halo;
    text-halo-radius: 1.4;
    text-wrap-width: 90;
    text-allow-overlap: true;
    [zoom>=5][weight=2] { text-size: 11; }
    [zoom>=8][weight=1] { text-size: 11; }
    [zoom>=8][weight=2] { text-size: 13; }
  }
}
