#islands {
  polygon-fill: #3f8f8a;
  polygon-opacity: 0.45;
  line-color: #2c6b67;
  line-width: 1;
  text-name: [name];
  text-face-name: "DejaVu Sans Bold";
  text-size: 11;
  text-fill: #1d4a47;
  text-halo-fill: rgba(255, 255, 255, 0.8);
  text-halo-radius: 1.5;
  text-wrap-width: 80;
}
