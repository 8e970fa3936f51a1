-- Attempts whose end nobody saw. There are hardly any.
CREATE INDEX activities_unseen ON activities (run, number) WHERE adrift = 1;
