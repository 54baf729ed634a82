package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

type object = map[string]any

// load reads a file of JSON.
func load(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// change reads a file of JSON and writes it back, changed.
func change(file string, by func(object) error) error {
	var content object
	if err := load(file, &content); err != nil {
		return err
	}
	if err := by(content); err != nil {
		return err
	}
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// fit takes out of a bundle what a namespace cannot have, as rehearsal/machines/overrides.ts lists it, and gives its
// container the program that is at hand, or a stand-in. Its processes see the machine's host name, by which the
// rehearsal knows what belongs to a machine.
func fit(spec object, bundle string) error {
	linux, process := spec["linux"].(object), spec["process"].(object)
	for _, name := range []string{"resources", "cgroupsPath", "seccomp"} {
		delete(linux, name)
	}
	delete(process, "oomScoreAdj")
	delete(process, "apparmorProfile")
	delete(spec, "hostname")
	linux["namespaces"] = without(linux["namespaces"], "uts", "cgroup")
	mounts := without(spec["mounts"], "cgroup")
	add := func(source, target string) {
		mounts = append(mounts, object{"destination": target, "source": source, "type": "bind", "options": []string{"rbind", "ro"}})
	}
	note := func(name string) string { return noteOf(spec, name) }
	args := wordsOf(process)
	known, err := lookUp(note("image-name"))
	if err != nil {
		return err
	}
	if known != nil {
		for target, source := range known.Files {
			add(source, target)
		}
		if known.System {
			addSystem(filepath.Join(bundle, "rootfs"), add)
		}
	}
	switch {
	case note("container-type") == "sandbox":
		args = []string{inContainer, "pause"}
	case !known.runs(args[0]):
		part, err := partOf(note("sandbox-namespace"), note("sandbox-name"), note("sandbox-uid"), note("container-name"), args)
		if err != nil {
			return err
		}
		args = append([]string{inContainer}, part...)
	}
	if args[0] == inContainer {
		add(programs+"stand-in", inContainer)
	}
	process["args"], spec["mounts"] = args, mounts
	return nil
}

// fitCommand lets a command in a stand-in, such as a probe's, succeed, unless its program is at hand. runc's own folder
// is the bundle of the pod's sandbox, whose shim is that of all containers.
func fitCommand(process object, id string) error {
	delete(process, "apparmorProfile")
	var spec object
	if err := load(filepath.Join("..", id, "config.json"), &spec); err != nil {
		return err
	}
	known, err := lookUp(noteOf(spec, "image-name"))
	if err != nil {
		return err
	}
	if wordsOf(spec["process"].(object))[0] == inContainer && !known.runs(wordsOf(process)[0]) {
		process["args"] = []string{inContainer, "exec"}
	}
	return nil
}

// noteOf is what containerd's CRI plug-in tells runc of a container.
func noteOf(spec object, name string) string {
	noted, _ := spec["annotations"].(object)
	text, _ := noted["io.kubernetes.cri."+name].(string)
	return text
}

// without leaves out what has one of these types.
func without(list any, types ...string) []any {
	return slices.DeleteFunc(list.([]any), func(one any) bool {
		name, _ := one.(object)["type"].(string)
		return slices.Contains(types, name)
	})
}

func wordsOf(process object) []string {
	var words []string
	for _, word := range process["args"].([]any) {
		words = append(words, word.(string))
	}
	return words
}

// addSystem shows the machine's own programs and libraries, for a small distribution.
func addSystem(root string, add func(source, target string)) {
	for _, folder := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"} {
		if target, err := os.Readlink(folder); err == nil {
			_ = os.Symlink(target, root+folder)
		} else if _, err := os.Stat(folder); err == nil {
			add(folder, folder)
		}
	}
}

// knownImage is an image of rehearsal/machines/containers.ts, with the fields that are described there.
type knownImage struct {
	Image    string
	Files    map[string]string
	System   bool
	Programs []string
}

// runs tells whether a program is at hand.
func (image *knownImage) runs(program string) bool {
	return image != nil && (len(image.Programs) == 0 || slices.Contains(image.Programs, program))
}

// lookUp finds what is known of an image by its repository, on whatever registry; nil for others.
func lookUp(image string) (*knownImage, error) {
	var all []knownImage
	if err := load("/.rehearsal/images.json", &all); err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(image, "@")
	if at := strings.LastIndex(name, ":"); at > strings.LastIndex(name, "/") {
		name = name[:at]
	}
	for index := range all {
		_, path, _ := strings.Cut(all[index].Image, "/")
		if strings.HasSuffix(name, "/"+path) {
			return &all[index], nil
		}
	}
	return nil, nil
}
