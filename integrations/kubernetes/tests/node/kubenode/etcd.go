package main

import (
	"errors"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
)

// serveEtcd keeps the cluster's state in a folder and serves it at a URL, until it is killed.
func serveEtcd(arguments []string) error {
	if len(arguments) != 3 {
		return errors.New("usage: etcd FOLDER CLIENT-URL PEER-URL")
	}
	settings := embed.NewConfig()
	settings.Dir = arguments[0]
	settings.LogLevel = "error"
	settings.UnsafeNoFsync = true // the state does not outlive the test
	for i, urls := range [][]*[]url.URL{{&settings.ListenClientUrls, &settings.AdvertiseClientUrls},
		{&settings.ListenPeerUrls, &settings.AdvertisePeerUrls}} {
		parsed, err := url.Parse(arguments[1+i])
		if err != nil {
			return err
		}
		for _, field := range urls {
			*field = []url.URL{*parsed}
		}
	}
	settings.InitialCluster = settings.InitialClusterFromName(settings.Name)
	etcd, err := embed.StartEtcd(settings)
	if err != nil {
		return err
	}
	return <-etcd.Err()
}
