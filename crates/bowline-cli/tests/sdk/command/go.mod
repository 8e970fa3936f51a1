module bowline/command

go 1.25.0

require github.com/temporalio/cli v1.5.1
