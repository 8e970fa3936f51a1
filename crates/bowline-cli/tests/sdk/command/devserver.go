// Package devserver stands where the command line has a server inside, which takes many minutes to
// build. All other commands are as they come from the registry.
package devserver

import (
	"errors"
	"log/slog"

	"go.temporal.io/api/enums/v1"
)

// StartOptions are what the command `server start-dev` fills in.
type StartOptions struct {
	FrontendIP, UIIP, UIAssetPath, UICodecEndpoint, PublicPath                  string
	ClusterID, MasterClusterName, CurrentClusterName, DatabaseFile              string
	FrontendPort, FrontendHTTPPort, UIPort, MetricsPort, InitialFailoverVersion int
	Namespaces                                                                  []string
	Logger                                                                      *slog.Logger
	LogLevel                                                                    slog.Level
	SqlitePragmas                                                               map[string]string
	DynamicConfigValues                                                         map[string]any
	LogConfig                                                                   func([]byte)

	SearchAttributes map[string]enums.IndexedValueType
}

// Server is none.
type Server struct{}

// Start refuses.
func Start(StartOptions) (*Server, error) {
	return nil, errors.New("this build has no server inside")
}

// Stop has nothing to do.
func (*Server) Stop() {}
