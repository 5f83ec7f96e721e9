/* `rank` is the zoom from which a town has room for its label. Dots come first: labels give way to them. */
#cities {
  [zoom=3][rank<=3],
  [zoom=4][rank<=4],
  [zoom=5][rank<=5],
  [zoom=6][rank<=6],
  [zoom=7][rank<=7],
  [zoom=8][rank<=8],
  [zoom=9][rank<=9],
  [zoom=10][rank<=10],
  [zoom=11][rank<=11],
  [zoom>=12] {
    ::dots {
      marker-width: 4;
      marker-fill: #ffffff;
      marker-line-color: #4a4a55;
      marker-line-width: 1;
      marker-allow-overlap: true;
      [population>=500000] { marker-width: 5; }
      [population>=3000000] { marker-width: 6; }
      [capital=true] {
        marker-width: 6;
        marker-fill: #b4434f;
        marker-line-color: #ffffff;
      }
    }
    ::names {
      text-name: [name];
      text-face-name: "DejaVu Sans Book";
      text-size: 9.5;
      text-fill: #3d3d47;
      text-halo-fill: rgba(255, 255, 255, 0.8);
      text-halo-radius: 1.5;
      text-placement-type: simple;
      text-placements: "E,W,N,S";
      text-dx: 5;
      text-dy: 5;
      text-wrap-width: 90;
      [population>=500000] {
        text-size: 10.5;
        text-fill: #2b2b33;
      }
      [population>=3000000] {
        text-size: 12;
        text-fill: #1d1d24;
      }
      [capital=true] {
        text-face-name: "DejaVu Sans Bold";
        text-fill: #1d1d24;
      }
      [zoom>=10][population>=10000] { text-size: 11.5; }
      [zoom>=8][population>=100000] {
        text-size: 12;
        [population>=500000] { text-size: 14; }
        [zoom>=11] { text-size: 14; }
      }
      [part=true] {
        text-size: 9.5;
        text-fill: #5b5b66;
      }
    }
  }
}
