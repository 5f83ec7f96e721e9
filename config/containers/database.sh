# The image of PostgreSQL runs this once: the role of Mapwright, which is no administrator, and its database.
psql --username postgres <<SQL
CREATE ROLE maps LOGIN PASSWORD '$MAPS_PASSWORD';
CREATE DATABASE maps OWNER maps TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8';
\c maps
CREATE EXTENSION postgis; CREATE EXTENSION pg_trgm; CREATE EXTENSION unaccent;
SQL
