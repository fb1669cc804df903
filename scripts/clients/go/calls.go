// The calls that every client in Go makes. A program prints a line for each of its calls.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
)

var address, token = os.Getenv("PLANTSTORE_URL"), os.Getenv("PLANTSTORE_TOKEN")
var ids = []int64{-9223372036854775808, 9007199254740993, 9223372036854775807}

const file = "{\"id\":9223372036854775807,\"name\":\"Ginkgo\",\"tag\":\"tree\"}\n{\"id\":9007199254740995,\"name\":\"Acer\"}\n"

type plant struct {
	id   int64
	name string
	tag  string
}

// operations has the operations of a generated client, each as the client offers it. Their statuses are those of answers.
type operations struct {
	create  func(plant plant, onlyNew bool) (status int, number int32, err error)
	read    func(id int64) (plant, error)
	list    func() ([]int64, error)
	replace func(id int64, name string) (plant, error)
	export  func() (string, error)
	load    func(file string) (added, unchanged, refused int, err error)
}

func call(c operations) {
	check("create", func() error {
		for _, id := range ids {
			if status, _, err := c.create(plant{id, "Ginkgo", "tree"}, false); err != nil || status != 200 {
				return fmt.Errorf("%d %v", status, err)
			}
		}
		return nil
	})
	check("read", func() error {
		for _, id := range ids {
			found, err := c.read(id)
			if err != nil {
				return err
			}
			if err := expect(found, plant{id, "Ginkgo", "tree"}); err != nil {
				return err
			}
		}
		return nil
	})
	check("list", func() error {
		found, err := c.list()
		if err != nil {
			return err
		}
		return expect(found, ids)
	})
	check("replace", func() error {
		found, err := c.replace(ids[1], "Ginkgo biloba")
		if err != nil {
			return err
		}
		return expect(found, plant{ids[1], "Ginkgo biloba", ""})
	})
	check("export", func() error {
		text, err := c.export()
		if err != nil {
			return err
		}
		found := []int64{}
		for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
			var row struct{ ID int64 }
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				return err
			}
			found = append(found, row.ID)
		}
		return expect(found, ids)
	})
	check("import", func() error {
		added, unchanged, refused, err := c.load(file)
		if err != nil {
			return err
		}
		return expect([]int{added, unchanged, refused}, []int{1, 1, 0})
	})
	check("409", func() error {
		status, number, err := c.create(plant{ids[1], "Quercus", "tree"}, false)
		if err != nil {
			return err
		}
		return expect([]int{status, int(number)}, []int{409, 40901})
	})
	check("412", func() error {
		status, number, err := c.create(plant{ids[2], "Ginkgo", "tree"}, true)
		if err != nil {
			return err
		}
		return expect([]int{status, int(number)}, []int{412, 41201})
	})
}

func check(name string, run func() error) {
	if err := run(); err != nil {
		fmt.Printf("%s: %s\n", name, strings.Split(err.Error(), "\n")[0])
	} else {
		fmt.Printf("%s: ok\n", name)
	}
}

func expect(found, wanted any) error {
	if reflect.DeepEqual(found, wanted) {
		return nil
	}
	return fmt.Errorf("%v in place of %v", found, wanted)
}
