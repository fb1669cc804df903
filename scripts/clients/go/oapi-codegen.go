package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"example.org/client/client"
)

func main() {
	ctx := context.Background()
	withToken := client.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+token)
		return nil
	})
	c, err := client.NewClientWithResponses(address, withToken)
	if err != nil {
		panic(err)
	}
	plantOf := func(found *client.StoredPlant) (plant, error) {
		if found == nil {
			return plant{}, errors.New("no plant")
		}
		tag := ""
		if found.Tag != nil {
			tag = *found.Tag
		}
		return plant{found.Id, found.Name, tag}, nil
	}
	call(operations{
		create: func(p plant, onlyNew bool) (int, int32, error) {
			parameters := &client.CreatePlantParams{}
			if onlyNew {
				any := "*"
				parameters.IfNoneMatch = &any
			}
			answer, err := c.CreatePlantWithResponse(ctx, parameters, client.NewPlant{Id: p.id, Name: p.name, Tag: &p.tag})
			if err != nil {
				return 0, 0, err
			}
			number := int32(0)
			if answer.JSONDefault != nil {
				number = answer.JSONDefault.Error
			}
			return answer.StatusCode(), number, nil
		},
		read: func(id int64) (plant, error) {
			answer, err := c.GetPlantWithResponse(ctx, id, nil)
			if err != nil {
				return plant{}, err
			}
			return plantOf(answer.JSON200)
		},
		list: func() ([]int64, error) {
			answer, err := c.ListPlantsWithResponse(ctx, nil)
			if err != nil {
				return nil, err
			}
			found := []int64{}
			for _, each := range *answer.JSON200 {
				found = append(found, each.Id)
			}
			return found, nil
		},
		replace: func(id int64, name string) (plant, error) {
			answer, err := c.ReplacePlantWithResponse(ctx, id, nil, client.PlantReplacement{Name: name})
			if err != nil {
				return plant{}, err
			}
			return plantOf(answer.JSON200)
		},
		export: func() (string, error) {
			// ExportPlantsWithResponse takes any answer whose type has "json" in its name for a refusal.
			answer, err := c.ExportPlants(ctx, nil)
			if err != nil {
				return "", err
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			return string(text), err
		},
		load: func(file string) (int, int, int, error) {
			answer, err := c.ImportPlantsWithBodyWithResponse(ctx, nil, "application/x-ndjson", strings.NewReader(file))
			if err != nil {
				return 0, 0, 0, err
			}
			if answer.JSON200 == nil {
				return 0, 0, 0, errors.New(string(answer.Body))
			}
			return answer.JSON200.Added, answer.JSON200.Unchanged, answer.JSON200.Refused, nil
		},
	})
}
