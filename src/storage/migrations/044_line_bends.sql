-- after functions
-- Of layers that are there already, by note_line_bends().
update layer set gathered = gathered where gathered is not null;
