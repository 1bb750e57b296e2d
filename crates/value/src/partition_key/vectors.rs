//! The service's own hash values, as computed by .NET, Java and Rust clients.

use super::Component::{Bool, Null, Number, Undefined};
use super::hashing::{hash_v1, hash_v2};
use super::{Component, Hashing, PartitionKey};

fn text(text: &str) -> Component {
    Component::String(text.to_owned())
}

/// A component, its version 2 key (and MultiHash part), its version 1 key.
fn vectors() -> Vec<(Component, &'static str, &'static str)> {
    let mut vectors = scalars();
    vectors.extend(strings());
    vectors
}

fn scalars() -> Vec<(Component, &'static str, &'static str)> {
    let (i64_min, i64_max) = (-9_223_372_036_854_775_808.0, 9_223_372_036_854_775_807.0);
    vec![
        (Undefined, "11622DAA78F835834610ABE56EFF5CB5", "05C1D529E345DC00"),
        (Null, "378867E4430E67857ACE5C908374FE16", "05C1ED45D7475601"),
        (Bool(false), "2FE1BE91E90A3439635E0E9E37361EF2", "05C1DB857D857C02"),
        (Bool(true), "0E711127C5B5A8E4726AC6DD306A3E59", "05C1D7C5A903D803"),
        (Number(0.0), "155B95BEDAC4B1E9EC1CDC9BB0DDDE58", "05C1BF6DA11560058000"),
        (Number(-0.0), "3D018BB1DF3DB27235766E81FD10406E", "05C1E703ED99A0058000"),
        (Number(1.0), "20CD98B339BA78A5D0CF6953B87070B0", "05C1ED172B6B2605BFF0"),
        (Number(-1.0), "19938E7A936C1C5B9E3AE842BBC16839", "05C1D1A5BDDF9C054010"),
        (Number(5.0), "19C08621B135968252FB34B4CF66F811", "05C1D9C1C5517C05C014"),
        (Number(42.0), "08E6D561F6FD951DCC25E7E4EA2884B5", "05C1E75FCB273A05C04580"),
        #[expect(clippy::approx_constant, reason = "the vector is this decimal, not pi")]
        (Number(3.14), "319C496AE088984E764AF1B65EF5394D", "05C1E179CD954C05C0098FAF0B1F5D153E"),
        (Number(0.1), "21DEBA97B3AF01087F4E1F889B0A7739", "05C1D92733D70405BFB9CD673399CD6734"),
        (
            Number(-123.456),
            "1757D540B589DD9962861CED15A7DA57",
            "05C1AF3FFB9F60053FA191B51D57030712",
        ),
        (Number(1e300), "1234CB21048B20039B22F11DBB13CD7B", "05C1AB5FCFAF8005FE37F30F918103D738"),
        (
            Number(9_007_199_254_740_991.0),
            "12C221C7032CED1F9E6693CE1428E6CF",
            "05C1B3FBA771A005C33FFFFFFFFFFFFFFE",
        ),
        (Number(-128.0), "01DAEDABF913540367FE219B2AD06148", "05C1D73349F54C053FA0"),
        (Number(127.0), "0C507ACAC853ECA7977BF4CEFB562A25", "05C1DD539DDFCC05C05FE0"),
        (Number(i64_min), "23D5C6395512BDFEAFADAD15328AD2BB", "05C1DB35F33D1C053C20"),
        (Number(i64_max), "2EDB959178DFCCA18983F89384D1629B", "05C1B799AB2DD005C3E0"),
        (Number(5e-324), "0E6CBA63A280927DE485DEF865800139", "05C1E5C91F4D3005800101010101010102"),
        (
            Number(f64::MAX),
            "31424D996457102634591FF245DBCC4D",
            "05C1CBE367C53005FFEFFFFFFFFFFFFFFE",
        ),
    ]
}

fn strings() -> Vec<(Component, &'static str, &'static str)> {
    vec![
        (text(""), "32E9366E637A71B4E710384B2F4970A0", "05C1CF33970FF80800"),
        (text("a"), "3A5381E1114EB8D3FCC90795045B49B7", "05C1D78593652C086200"),
        (text("test"), "08C5A1618234B14BE512B8525E2282FA", "05C1EBFB1F1FE6087566747500"),
        (text("redmond"), "22E342F38A486A088463DFF7838A5963", "05C1EFE313830C087366656E706F6500"),
        (
            text("partitionKey"),
            "013AEFCF77FA271571CF665A58C933F1",
            "05C1E1B3D9CD2608716273756A756A706F4C667A00",
        ),
        (
            text("Hello World"),
            "306C52B42DECB3AE9D3C7586975E30B9",
            "05C1C5D58F13B00849666D6D70215870736D6500",
        ),
        (text("你好"), "004DC6466F1ECD29F3606AEBC7AFC317", "05C1D37361259408E5BEA1E6A6BE00"),
        (text("é"), "007199F104E04116EE25AF912CA4889B", "05C1B3CD91912008C4AA00"),
    ]
}

fn effective(components: &[Component], hashing: Hashing) -> String {
    PartitionKey(components.to_vec()).effective(hashing).to_string()
}

#[test]
fn single_components() {
    for (component, v2, v1) in vectors() {
        let components = [component];
        assert_eq!(effective(&components, Hashing::V2), v2, "{components:?}");
        assert_eq!(effective(&components, Hashing::MultiHash), v2, "{components:?}");
        assert_eq!(effective(&components, Hashing::V1), v1, "{components:?}");
    }
}

#[test]
fn long_strings() {
    let v1 = |head: &str, byte: &str| format!("{head}{}00", byte.repeat(100));
    let x = |count: usize| [text(&"x".repeat(count))];
    assert_eq!(effective(&x(100), Hashing::V2), "3F35F33CA8F8DA98DB46E18CDC66A245");
    assert_eq!(effective(&x(101), Hashing::V2), "300C91B3A88EBBFFE4DB4541EA0875FC");
    assert_eq!(effective(&x(100), Hashing::V1), v1("05C1DD45A3938C08", "79"));
    assert_eq!(effective(&x(101), Hashing::V1), v1("05C1DD45A3938C08", "79"));
    let a = [text(&"a".repeat(1024))];
    assert_eq!(effective(&a, Hashing::V2), "332BDF5512AE49615F32C7D98C2DB86C");
    assert_eq!(effective(&a, Hashing::V1), v1("05C1EB5921F70608", "62"));
}

#[test]
fn several_components() {
    let components = [Number(5.0), text("redmond"), Bool(true), Null];
    assert_eq!(effective(&components, Hashing::V2), "3032DECBE2AB1768D8E0AEDEA35881DF");

    let tenant = "0DAE0B8467B011E957BC0B8B0DEB5ACA";
    let full = [text("tenant1"), text("user1"), text("s1")];
    assert_eq!(
        effective(&full, Hashing::MultiHash),
        format!("{tenant}236A5BE3329A7AD57D4B998E8602BD7B2924A879AFFF52A411F93F1A83532751")
    );
    let (from, to) = PartitionKey(full[..1].to_vec()).effective_range(Hashing::MultiHash);
    assert_eq!((from.to_string(), to.to_string()), (tenant.to_owned(), format!("{tenant}FF")));

    let part = |component| effective(&[component], Hashing::V2);
    assert_eq!(
        effective(&[Number(1.0), Bool(true), Null], Hashing::MultiHash),
        part(Number(1.0)) + &part(Bool(true)) + &part(Null)
    );
    assert_eq!(
        effective(&[text("a"), Undefined, text("c")], Hashing::MultiHash),
        part(text("a")) + &part(Undefined) + "2562D4841EF4AF76D90EC904CEE5FA9A"
    );
}

#[test]
fn no_component_lies_at_the_beginning() {
    for hashing in [Hashing::V1, Hashing::V2, Hashing::MultiHash] {
        assert_eq!(effective(&[], hashing), "");
        let (from, to) = PartitionKey(Vec::new()).effective_range(hashing);
        assert_eq!((from.to_string(), to.to_string()), (String::new(), "FF".to_owned()));
    }
}

#[test]
fn raw_hashes_of_32_bits() {
    for (component, hash) in [
        (Undefined, 0x514E_28B7),
        (Null, 0xE45A_D1AB),
        (Bool(true), 0x5E2A_8076),
        (Bool(false), 0x6C27_D09F),
        (Number(0.0), 0x1EDA_80A6),
        (Number(1.0), 0xE165_5A93),
        (Number(-1.0), 0x452B_DBE7),
        (text(""), 0x3CCC_B0FF),
        (text("asdf"), 0xB02B_ABC2),
        (text("/path1"), 0xA6C6_298A),
    ] {
        assert_eq!(hash_v1(std::slice::from_ref(&component)), hash, "{component:?}");
    }
}

#[test]
fn raw_hashes_of_128_bits() {
    // The published values still have the two top bits set, unlike a key.
    const TOP_BITS: u128 = 0b11 << 126;
    for (component, hash) in [
        (Undefined, 0x5162_2DAA_78F8_3583_4610_ABE5_6EFF_5CB5),
        (Bool(true), 0x4E71_1127_C5B5_A8E4_726A_C6DD_306A_3E59),
        (Bool(false), 0xEFE1_BE91_E90A_3439_635E_0E9E_3736_1EF2),
        (Number(0.0), 0x555B_95BE_DAC4_B1E9_EC1C_DC9B_B0DD_DE58),
        (Number(1.0), 0xA0CD_98B3_39BA_78A5_D0CF_6953_B870_70B0),
        (text("asdf"), 0x608B_F1D5_98F5_B63A_D552_0F04_FE58_C5E8_u128),
    ] {
        let key = u128::from_be_bytes(hash_v2(std::slice::from_ref(&component)));
        assert_eq!(key, hash & !TOP_BITS, "{component:?}");
    }
}
