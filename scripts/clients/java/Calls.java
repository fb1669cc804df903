// The calls of the client that openapi-generator makes for Java. Prints a line for each of its calls.
import com.google.gson.JsonParser;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.PlantsApi;
import org.openapitools.client.model.NewPlant;
import org.openapitools.client.model.PlantReplacement;

public class Calls {
    static final List<Long> IDS = List.of(Long.MIN_VALUE, 9007199254740993L, Long.MAX_VALUE);
    static final String FILE =
        "{\"id\":9223372036854775807,\"name\":\"Ginkgo\",\"tag\":\"tree\"}\n{\"id\":9007199254740995,\"name\":\"Acer\"}\n";
    static PlantsApi api;

    public static void main(String[] args) {
        ApiClient client = new ApiClient();
        client.setBasePath(System.getenv("PLANTSTORE_URL"));
        client.setBearerToken(System.getenv("PLANTSTORE_TOKEN"));
        api = new PlantsApi(client);
        check("create", () -> List.of(create(0, "Ginkgo", null), create(1, "Ginkgo", null), create(2, "Ginkgo", null)),
            List.of(List.of(200, 0), List.of(200, 0), List.of(200, 0)));
        check("read", () -> {
            for (long id : IDS) {
                var plant = api.getPlant(id, null, null);
                if (plant.getId() != id || !plant.getName().equals("Ginkgo") || !"tree".equals(plant.getTag())) return plant;
            }
            return true;
        }, true);
        check("list", () -> api.listPlants(null, null, null, null, null, null, null, null).stream().map(p -> p.getId()).toList(), IDS);
        check("replace", () -> {
            var plant = api.replacePlant(IDS.get(1), new PlantReplacement().name("Ginkgo biloba"), null, null);
            return List.of(plant.getId(), plant.getName());
        }, List.of(IDS.get(1), "Ginkgo biloba"));
        check("export", () -> api.exportPlants(null, null, null, null, null, null).lines()
            .map(line -> JsonParser.parseString(line).getAsJsonObject().get("id").getAsLong()).toList(), IDS);
        check("import", () -> {
            var report = api.importPlants(FILE, null, null, null, null, null, null);
            return List.of(report.getAdded(), report.getUnchanged(), report.getRefused());
        }, List.of(1, 1, 0));
        check("409", () -> create(1, "Quercus", null), List.of(409, 40901));
        check("412", () -> create(2, "Ginkgo", "*"), List.of(412, 41201));
    }

    static List<Integer> create(int at, String name, String onlyNew) throws ApiException {
        try {
            var plant = new NewPlant().id(IDS.get(at)).name(name).tag("tree");
            return List.of(api.createPlantWithHttpInfo(plant, onlyNew).getStatusCode(), 0);
        } catch (ApiException refusal) {
            if (refusal.getResponseBody() == null) throw refusal;
            var body = JsonParser.parseString(refusal.getResponseBody()).getAsJsonObject();
            return List.of(refusal.getCode(), body.get("error").getAsInt());
        }
    }

    static void check(String name, Callable<Object> call, Object wanted) {
        String found;
        try {
            Object value = call.call();
            found = Objects.equals(value, wanted) ? "ok" : value + " in place of " + wanted;
        } catch (Exception error) {
            found = error.toString().split("\n")[0];
        }
        System.out.println(name + ": " + found);
    }
}
