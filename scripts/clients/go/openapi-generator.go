package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	client "example.org/client/client"
)

func main() {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: address}}
	configuration.DefaultHeader = map[string]string{"Authorization": "Bearer " + token}
	api := client.NewAPIClient(configuration).PlantsAPI
	ctx := context.Background()
	plantOf := func(found *client.StoredPlant, err error) (plant, error) {
		if err != nil {
			return plant{}, err
		}
		return plant{found.Id, found.Name, found.GetTag()}, nil
	}
	call(operations{
		create: func(p plant, onlyNew bool) (int, int32, error) {
			request := api.CreatePlant(ctx).PlantToAdd(client.PlantToAdd{Id: p.id, Name: p.name, Tag: &p.tag})
			if onlyNew {
				request = request.IfNoneMatch("*")
			}
			_, answer, err := request.Execute()
			var refusal *client.GenericOpenAPIError
			if errors.As(err, &refusal) {
				var body struct{ Error int32 }
				err := json.Unmarshal(refusal.Body(), &body)
				return answer.StatusCode, body.Error, err
			}
			if err != nil {
				return 0, 0, err
			}
			return answer.StatusCode, 0, nil
		},
		read: func(id int64) (plant, error) {
			found, _, err := api.GetPlant(ctx, id).Execute()
			return plantOf(found, err)
		},
		list: func() ([]int64, error) {
			plants, _, err := api.ListPlants(ctx).Execute()
			found := []int64{}
			for _, each := range plants {
				found = append(found, each.Id)
			}
			return found, err
		},
		replace: func(id int64, name string) (plant, error) {
			found, _, err := api.ReplacePlant(ctx, id).PlantReplacement(client.PlantReplacement{Name: name}).Execute()
			return plantOf(found, err)
		},
		export: func() (string, error) {
			// The client knows no text of this type; the answer has it.
			_, answer, err := api.ExportPlants(ctx).Execute()
			if answer == nil {
				return "", err
			}
			text, err := io.ReadAll(answer.Body)
			return string(text), err
		},
		load: func(file string) (int, int, int, error) {
			report, _, err := api.ImportPlants(ctx).Body(file).Execute()
			if err != nil {
				return 0, 0, 0, err
			}
			return int(report.Added), int(report.Unchanged), int(report.Refused), nil
		},
	})
}
