package main

import (
	"fmt"
	"strings"

	"github.com/sirupsen/logrus"
)

// warnings collects what containerd logs as a warning or worse: unknown keys, deprecated ones.
type warnings struct {
	texts []string
}

// Levels of the messages that count.
func (*warnings) Levels() []logrus.Level {
	return []logrus.Level{logrus.PanicLevel, logrus.FatalLevel, logrus.ErrorLevel, logrus.WarnLevel}
}

// Fire keeps one message. The migration of an older version of the file is no problem.
func (heard *warnings) Fire(entry *logrus.Entry) error {
	if strings.HasPrefix(entry.Message, "Configuration migrated from version") {
		return nil
	}
	// The loader returns this one as an error too.
	if entry.Message == "Failure unmarshaling TOML" {
		return nil
	}
	text := entry.Message
	if key, ok := entry.Data["key"].(string); ok {
		text = fmt.Sprintf("unknown key %s", strings.ReplaceAll(key, " ", "."))
	}
	if plugin, ok := entry.Data["plugin"].(string); ok {
		text = fmt.Sprintf("plugin %s: %s", plugin, text)
	}
	heard.texts = append(heard.texts, text)
	return nil
}
