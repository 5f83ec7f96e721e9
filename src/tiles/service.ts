export interface TileService {}
