package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"example.org/client/client"
)

type bearer struct{}

func (bearer) Bearer(context.Context, client.OperationName) (client.Bearer, error) {
	return client.Bearer{Token: token}, nil
}

func main() {
	ctx := context.Background()
	c, err := client.NewClient(address, bearer{})
	if err != nil {
		panic(err)
	}
	plantOf := func(found client.StoredPlant) plant {
		return plant{int64(found.ID), string(found.Name), string(found.Tag.Or(""))}
	}
	refusal := func(found any, err error) (int, int32, error) {
		var thrown *client.RefusalStatusCodeWithHeaders
		if errors.As(err, &thrown) {
			return thrown.StatusCode, thrown.Response.Error, nil
		}
		if answered, is := found.(*client.RefusalStatusCodeWithHeaders); is {
			return answered.StatusCode, answered.Response.Error, err
		}
		return 200, 0, err
	}
	call(operations{
		create: func(p plant, onlyNew bool) (int, int32, error) {
			parameters := client.CreatePlantParams{}
			if onlyNew {
				parameters.IfNoneMatch = client.NewOptString("*")
			}
			sent := &client.NewPlant{ID: client.ID(p.id), Name: client.Name(p.name), Tag: client.NewOptTag(client.Tag(p.tag))}
			found, err := c.CreatePlant(ctx, sent, parameters)
			return refusal(found, err)
		},
		read: func(id int64) (plant, error) {
			answer, err := c.GetPlant(ctx, client.GetPlantParams{ID: id})
			if err != nil {
				return plant{}, err
			}
			found, is := answer.(*client.StoredPlantHeaders)
			if !is {
				return plant{}, fmt.Errorf("%T", answer)
			}
			return plantOf(found.Response), nil
		},
		list: func() ([]int64, error) {
			answer, err := c.ListPlants(ctx, client.ListPlantsParams{})
			if err != nil {
				return nil, err
			}
			found := []int64{}
			for _, each := range answer.Response {
				found = append(found, int64(each.ID))
			}
			return found, nil
		},
		replace: func(id int64, name string) (plant, error) {
			answer, err := c.ReplacePlant(ctx, &client.PlantReplacement{Name: client.Name(name)}, client.ReplacePlantParams{ID: id})
			if err != nil {
				return plant{}, err
			}
			found, is := answer.(*client.ChangedPlantHeaders)
			if !is {
				return plant{}, fmt.Errorf("%T", answer)
			}
			return plantOf(found.Response), nil
		},
		export: func() (string, error) {
			answer, err := c.ExportPlants(ctx, client.ExportPlantsParams{})
			if err != nil {
				return "", err
			}
			found, is := answer.(*client.ExportPlantsOKApplicationXNdjsonHeaders)
			if !is {
				return "", fmt.Errorf("%T", answer)
			}
			text, err := io.ReadAll(found.Response)
			return string(text), err
		},
		load: func(file string) (int, int, int, error) {
			body := &client.ImportPlantsReqApplicationXNdjson{Data: strings.NewReader(file)}
			answer, err := c.ImportPlants(ctx, body, client.ImportPlantsParams{})
			if err != nil {
				return 0, 0, 0, err
			}
			return answer.Added, answer.Unchanged, answer.Refused, nil
		},
	})
}
