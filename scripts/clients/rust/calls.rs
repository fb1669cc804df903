//! The calls of the client that openapi-generator makes for Rust. Prints a line for each of its calls.
use openapi::apis::configuration::Configuration;
use openapi::apis::{plants_api as api, Error};
use openapi::models::{NewPlant, PlantReplacement};
use std::env::var;
use std::fmt::Debug;

const IDS: [i64; 3] = [i64::MIN, 9007199254740993, i64::MAX];
const FILE: &str = "{\"id\":9223372036854775807,\"name\":\"Ginkgo\",\"tag\":\"tree\"}\n{\"id\":9007199254740995,\"name\":\"Acer\"}\n";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut client = Configuration::new();
    client.base_path = var("PLANTSTORE_URL").unwrap();
    client.bearer_access_token = Some(var("PLANTSTORE_TOKEN").unwrap());
    let c = &client;
    let mut created = vec![];
    for id in IDS {
        created.push(create(c, id, "Ginkgo", None).await);
    }
    check("create", created, vec![(200, 0); 3]);
    let mut read = vec![];
    for id in IDS {
        let plant = api::get_plant(c, id, None, None).await;
        read.push(plant.map(|p| (p.id, p.name, p.tag)).map_err(|e| e.to_string()));
    }
    check("read", read, IDS.map(|id| Ok((id, "Ginkgo".into(), Some("tree".into())))).to_vec());
    let list = api::list_plants(c, None, None, None, None, None, None, None, None).await;
    check("list", list.map(|plants| plants.iter().map(|p| p.id).collect::<Vec<_>>()).unwrap_or_default(), IDS.to_vec());
    let new = PlantReplacement::new("Ginkgo biloba".into());
    let replaced = api::replace_plant(c, IDS[1], new, None, None).await;
    check("replace", replaced.map(|p| (p.id, p.name)).ok(), Some((IDS[1], "Ginkgo biloba".into())));
    let exported = api::export_plants(c, None, None, None, None, None, None).await;
    let lines = exported.map(|text| text.lines().count()).map_err(|e| e.to_string());
    check("export", lines, Ok(3));
    let report = api::import_plants(c, FILE, None, None, None, None, None, None).await;
    let counts = report.map(|r| (r.added, r.unchanged, r.refused)).map_err(|e| e.to_string());
    check("import", counts, Ok((1, 1, 0)));
    check("409", create(c, IDS[1], "Quercus", None).await, (409, 40901));
    check("412", create(c, IDS[2], "Ginkgo", Some("*")).await, (412, 41201));
}

async fn create(c: &Configuration, id: i64, name: &str, only_new: Option<&str>) -> (u16, i64) {
    let plant = NewPlant { id, name: name.into(), tag: Some("tree".into()) };
    match api::create_plant(c, plant, only_new).await {
        Ok(_) => (200, 0),
        Err(Error::ResponseError(refusal)) => {
            let body: serde_json::Value = serde_json::from_str(&refusal.content).unwrap_or_default();
            (refusal.status.as_u16(), body["error"].as_i64().unwrap_or(0))
        }
        Err(error) => {
            eprintln!("{error}");
            (0, 0)
        }
    }
}

fn check<T: PartialEq + Debug>(name: &str, found: T, wanted: T) {
    if found == wanted {
        println!("{name}: ok");
    } else {
        println!("{name}: {found:?} in place of {wanted:?}");
    }
}
