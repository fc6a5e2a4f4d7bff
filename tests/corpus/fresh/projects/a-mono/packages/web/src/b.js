ok();
