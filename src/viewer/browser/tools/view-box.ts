/** The part of the map that is seen, as `fbbox` of the API: SW_LAT,SW_LON,NE_LAT,NE_LON. @param covered pixels at the bottom */
export function viewBox(map: L.Map, covered: number): string {
  const size = map.getSize();
  const sw = map.containerPointToLatLng([0, Math.max(1, size.y - covered)]);
  const ne = map.containerPointToLatLng([size.x, 0]);
  const wrap = (lon: number) => ((((lon + 180) % 360) + 360) % 360) - 180;
  const isAround = ne.lng - sw.lng >= 360;
  const corners = [
    Math.max(-90, sw.lat),
    isAround ? -180 : wrap(sw.lng),
    Math.min(90, ne.lat),
    isAround ? 180 : wrap(ne.lng),
  ];
  return corners.map((degrees) => Number(degrees.toFixed(6))).join(",");
}
