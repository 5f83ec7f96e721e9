Map {
  background-color: #cddfe7;
}
