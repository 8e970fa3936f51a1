-- Attempts that are over although their code runs on. There are hardly any.
CREATE INDEX activities_adrift ON @activities (namespace, run, number) WHERE adrift;
