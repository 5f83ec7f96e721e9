-- Images of raster layers. Their bytes are blobs: the uploaded file, and the processed image that tiles are drawn from, a
-- GeoTIFF in EPSG:3857 with overviews. Raster layers have neither columns nor a table of objects.
create table raster (
  layer_id bigint primary key references layer on delete cascade,
  original uuid not null unique,
  -- GDAL's name of the format of the uploaded file.
  original_format text not null check (original_format in ('GTiff', 'PNG', 'JPEG')),
  original_bytes bigint not null,
  processed uuid not null unique,
  processed_bytes bigint not null,
  -- Of the uploaded file, in pixels.
  width int not null,
  height int not null,
  bands int not null,
  -- EPSG number or WKT.
  srs text not null,
  -- GDAL's six numbers from column and row of a pixel's corner to srs.
  transform double precision[] not null check (cardinality(transform) = 6),
  -- Whether the uploaded file itself tells where it lies.
  has_own_reference boolean not null,
  -- West, south, east, north in degrees of EPSG:4326; longitudes go on across the antimeridian.
  box double precision[] not null check (cardinality(box) = 4),
  nodata double precision,
  created_at timestamptz not null default now()
);
