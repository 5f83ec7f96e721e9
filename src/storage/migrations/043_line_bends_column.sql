-- A stroke takes more than its length where a line bends: of lines that are smaller than a pixel nearly all of what is seen.

-- Mean of stroke_bends() over lines of the layer.
alter table layer add column line_bends real not null default 0;
