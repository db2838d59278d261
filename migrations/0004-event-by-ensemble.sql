-- Events of one ensemble without a walk over all of them.
CREATE INDEX event_by_ensemble ON event (ensemble, id);
