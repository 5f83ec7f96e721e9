-- expands
-- functions: 1ed125674ad8be774d47cd89a013b329
-- A thinning has a number that no other one of any layer ever had, but for the plain ones that imports make, which are number 1.
create sequence thinning_number as int start with 2;
select setval('thinning_number', max(number)) from thinning having max(number) > 1;
